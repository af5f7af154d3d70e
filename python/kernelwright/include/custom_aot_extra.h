// The header that ahead-of-time kernels of `ops.Custom` include: attributes, workspaces and data that a
// kernel keeps. The order of the virtual functions and of the members is the binary interface, so nothing
// here may move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The types of elements, numbered as MindSpore numbers them, for `<function>InferType`.
#ifndef KERNELWRIGHT_NO_TYPE_ID
enum TypeId : int {
  kTypeUnknown = 0,
  kNumberTypeBool = 30,
  kNumberTypeInt8 = 32,
  kNumberTypeInt16 = 33,
  kNumberTypeInt32 = 34,
  kNumberTypeInt64 = 35,
  kNumberTypeUInt8 = 37,
  kNumberTypeUInt16 = 38,
  kNumberTypeUInt32 = 39,
  kNumberTypeUInt64 = 40,
  kNumberTypeFloat16 = 42,
  kNumberTypeFloat32 = 43,
  kNumberTypeFloat64 = 44,
  kNumberTypeBFloat16 = 45
};
#endif

/// Base of the data that a kernel computes in `<function>Init` and keeps for its calls.
class AotKernelData {
 public:
  AotKernelData() = default;
  virtual ~AotKernelData() = default;
};

/// The last argument of a kernel, with its attributes, its workspaces and its data.
class AotExtra {
 public:
  AotExtra() = default;
  virtual ~AotExtra() = default;

  virtual bool HasAttr(std::string name) = 0;

  /// Returns an attribute: bool, int64_t, float, std::string, vectors of int64_t or float, and vectors of
  /// those. Throws if no attribute has this name.
  template <typename T>
  inline T Attr(std::string) const {
    return T();
  }

  /// Sets the bytes of each workspace. Workspaces are params after the outputs.
  void SetWorkSpace(const std::vector<size_t> &workspace) { workspace_ = workspace; }
  const std::vector<size_t> &WorkSpace() const { return workspace_; }

  /// Stores the kernel's data, which this object then owns.
  void SetKernelData(AotKernelData *kernel_data) { kernel_data_ = kernel_data; }
  AotKernelData *KernelData() const { return kernel_data_; }
  void DestructKernelData() {
    delete kernel_data_;
    kernel_data_ = nullptr;
  }

 private:
  virtual bool GetAttrBool(std::string name) = 0;
  virtual int64_t GetAttrInt(std::string name) = 0;
  virtual float GetAttrFloat(std::string name) = 0;
  virtual std::string GetAttrStr(std::string name) = 0;
  virtual std::vector<int64_t> GetAttrIntVec(std::string name) = 0;
  virtual std::vector<float> GetAttrFloatVec(std::string name) = 0;
  virtual std::vector<std::vector<int64_t>> GetAttrInt2DVec(std::string name) = 0;
  virtual std::vector<std::vector<float>> GetAttrFloat2DVec(std::string name) = 0;

  std::vector<size_t> workspace_;
  AotKernelData *kernel_data_{nullptr};
};

template <>
inline bool AotExtra::Attr<bool>(std::string name) const {
  return const_cast<AotExtra *>(this)->GetAttrBool(name);
}
template <>
inline int64_t AotExtra::Attr<int64_t>(std::string name) const {
  return const_cast<AotExtra *>(this)->GetAttrInt(name);
}
template <>
inline float AotExtra::Attr<float>(std::string name) const {
  return const_cast<AotExtra *>(this)->GetAttrFloat(name);
}
template <>
inline std::string AotExtra::Attr<std::string>(std::string name) const {
  return const_cast<AotExtra *>(this)->GetAttrStr(name);
}
template <>
inline std::vector<int64_t> AotExtra::Attr<std::vector<int64_t>>(std::string name) const {
  return const_cast<AotExtra *>(this)->GetAttrIntVec(name);
}
template <>
inline std::vector<float> AotExtra::Attr<std::vector<float>>(std::string name) const {
  return const_cast<AotExtra *>(this)->GetAttrFloatVec(name);
}
template <>
inline std::vector<std::vector<int64_t>> AotExtra::Attr<std::vector<std::vector<int64_t>>>(
    std::string name) const {
  return const_cast<AotExtra *>(this)->GetAttrInt2DVec(name);
}
template <>
inline std::vector<std::vector<float>> AotExtra::Attr<std::vector<std::vector<float>>>(
    std::string name) const {
  return const_cast<AotExtra *>(this)->GetAttrFloat2DVec(name);
}
