#include "constraints/schema_forms.h"

namespace wattn {

KeyRules::KeyRules() = default;
KeyRules::KeyRules(const KeyRules&) = default;
KeyRules::KeyRules(KeyRules&&) noexcept = default;
KeyRules& KeyRules::operator=(const KeyRules&) = default;
KeyRules& KeyRules::operator=(KeyRules&&) noexcept = default;
KeyRules::~KeyRules() = default;

ObjectForm::ObjectForm() = default;
ObjectForm::ObjectForm(const ObjectForm&) = default;
ObjectForm::ObjectForm(ObjectForm&&) noexcept = default;
ObjectForm& ObjectForm::operator=(const ObjectForm&) = default;
ObjectForm& ObjectForm::operator=(ObjectForm&&) noexcept = default;
ObjectForm::~ObjectForm() = default;

ArrayForm::ArrayForm() = default;
ArrayForm::ArrayForm(const ArrayForm&) = default;
ArrayForm::ArrayForm(ArrayForm&&) noexcept = default;
ArrayForm& ArrayForm::operator=(const ArrayForm&) = default;
ArrayForm& ArrayForm::operator=(ArrayForm&&) noexcept = default;
ArrayForm::~ArrayForm() = default;

Form::Form() = default;
Form::Form(const Form&) = default;
Form::Form(Form&&) noexcept = default;
Form& Form::operator=(const Form&) = default;
Form& Form::operator=(Form&&) noexcept = default;
Form::~Form() = default;

bool KeyRules::operator==(const KeyRules& other) const = default;

}  // namespace wattn
